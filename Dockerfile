# diagnose in a container: docker build -t diagnoser . && docker run --rm -v "$PWD:/data:ro" diagnoser server.log
# Runs as nobody, on a read-only root file system; needs no network. More: docs/kubernetes.md
FROM python:3.13-slim AS build
# Extras to install, such as [mcp].
ARG EXTRAS=""
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY diagnoser diagnoser
COPY rules rules
RUN python -m venv /opt/diagnoser \
 && /opt/diagnoser/bin/pip install --no-cache-dir ".${EXTRAS}"
# Rules are compiled here: where nothing can be written, each run would do it again.
ENV DIAGNOSE_CACHE_DIR=/opt/cache
RUN echo "INFO 11-29 10:00:00 [api_server.py:1] vLLM API server version 0.9.2" > /tmp/server.log \
 && /opt/diagnoser/bin/diagnose --exit-zero --output /dev/null /tmp/server.log

FROM python:3.13-slim
COPY --from=build /opt/diagnoser /opt/diagnoser
# What is compiled is believed by its owner alone.
COPY --from=build --chown=65532:65532 /opt/cache /opt/cache
ENV PATH=/opt/diagnoser/bin:$PATH \
    DIAGNOSE_CACHE_DIR=/opt/cache \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENTRYPOINT ["diagnose"]
