import { registerHooks } from "node:module";

/*
 * Makes the passwords of tests cheap; loaded with `node --import`. A hash takes 84 ms of a processor on purpose, and tests make
 * hundreds of accounts with the same few passwords: a test process makes and checks each once, by the library's own functions.
 * What a test starts (the command line, a worker, the pages) makes and checks its own.
 */

const library = /\/@better-auth\/utils\/dist\/password\.node\.mjs$/;

/** A module with the functions of the one at `url`, which keep what they found. */
const keeping = (url: string) => `
  import * as library from ${JSON.stringify(url)};
  const hashes = new Map();
  const checks = new Map();
  const keep = (kept, key, find) => {
    const found = kept.get(key) ?? find();
    kept.set(key, found);
    return found;
  };
  export const hashPassword = (password) => keep(hashes, password, () => library.hashPassword(password));
  export const verifyPassword = (hash, password) =>
    keep(checks, JSON.stringify([hash, password]), () => library.verifyPassword(hash, password));
`;

const moduleOf = (url: string) => `data:text/javascript,${encodeURIComponent(keeping(url))}`;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    if (!library.test(resolved.url) || context.parentURL?.startsWith("data:")) return resolved;
    return { url: moduleOf(resolved.url), format: "module", shortCircuit: true };
  },
});
