# The service, from the wheel.  Data, dampen.toml and ledger lie in /data.
#
# Packages are those of packaging/locks, by their hashes.  For an image that can be built again, pass the
# images below by digest; `docker buildx imagetools inspect python:3.12-slim` tells it:
#     docker build --build-arg RUN_IMAGE=python:3.12-slim@sha256:... .
ARG BUILD_IMAGE=python:3.12
ARG RUN_IMAGE=python:3.12-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /source
COPY packaging/locks/build.txt locks/build.txt
RUN pip install --no-cache-dir --require-hashes -r locks/build.txt
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE CHANGELOG.md ./
COPY src src
RUN python -m build --wheel --no-isolation --outdir /wheels

FROM ${RUN_IMAGE}
COPY packaging/locks/image.txt /wheels/image.txt
RUN pip install --no-cache-dir --require-hashes -r /wheels/image.txt
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --no-deps /wheels/*.whl && rm -r /wheels \
    && useradd --uid 10001 --create-home dampen
USER dampen
WORKDIR /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz')"]
CMD ["dampen", "serve", "dampen.toml", "--host", "0.0.0.0"]
