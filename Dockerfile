# Not built here: no container engine was at hand. Each command was run by hand in a clean folder; docs/deploy.md has what came out.
FROM node:24-bookworm-slim AS build
WORKDIR /app
ENV CI=true NEXT_TELEMETRY_DISABLED=1
COPY . .
RUN npx -y pnpm@12.21.0 install --frozen-lockfile
RUN npx -y pnpm@12.21.0 build
RUN npx -y pnpm@12.21.0 prune --prod && rm -rf .next/cache

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production NEXT_TELEMETRY_DISABLED=1 ATELIER_DATA_DIR=/data HOST=0.0.0.0
# The program belongs to root and is only read; all that changes lies in /data.
COPY --from=build /app /app
RUN useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin atelier && install -d -o atelier -g atelier -m 0700 /data
# By number: Kubernetes' runAsNonRoot judges no name.
USER 10001
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
# Pages and API; for a worker the command is "scripts/worker.ts".
ENTRYPOINT ["node"]
CMD ["scripts/start.ts"]
