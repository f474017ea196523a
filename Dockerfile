# The sidecar as a small image: no compiler, no package installer, not root.
#
#   docker build -t sidecall .
#   docker run --rm --read-only --cap-drop ALL sidecall
#
# With telemetry: --build-arg EXTRAS=[otel,prometheus]
# The server's own work is compiled, which takes four minutes; not so: --build-arg COMPILE=0
#
# It listens on /run/sidecall/private/sidecall.sock: share /run/sidecall with the agent's
# container (same user, or --socket-group), and set SIDECALL_ENDPOINT there as it is set here.

FROM python:3.11-slim AS builder
ARG EXTRAS=
ARG COMPILE=1
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE ./
COPY clients/python clients/python
COPY server server
RUN python -m venv --without-pip /opt/sidecall \
    && SIDECALL_COMPILE=${COMPILE} python -m pip --python /opt/sidecall/bin/python install \
        --no-cache-dir \
        ./clients/python ".${EXTRAS}"

FROM python:3.11-slim
COPY --from=builder /opt/sidecall /opt/sidecall
RUN rm -rf /usr/local/lib/python3.11/site-packages/* /usr/local/lib/python3.11/ensurepip \
        /usr/local/bin/pip* \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin sidecall \
    && install -d -o sidecall -g sidecall -m 0755 /run/sidecall
ENV PATH=/opt/sidecall/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SIDECALL_SOCKET=/run/sidecall/private/sidecall.sock \
    SIDECALL_ENDPOINT=unix:///run/sidecall/private/sidecall.sock
USER 10001:10001
VOLUME ["/run/sidecall"]
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["sidecall", "health"]
ENTRYPOINT ["sidecall"]
CMD ["serve"]
