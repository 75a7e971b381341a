import { registerHooks, type ResolveFnOutput } from "node:module";

/** What Node found for a package name, by the folder of the importing file. */
const found = new Map<string, ResolveFnOutput>();

/**
 * Makes imports of packages quick; loaded with `node --import`. Node 24 parses the `exports` of a package again for
 * each import of it, which for drizzle-orm (175 KB) was a third of the start time of a worker. Hence each folder asks
 * Node once for a package, and relative imports inside drizzle-orm, whose files are all ES modules, need no package.json.
 */
registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL, importAttributes } = context;
    if (!parentURL) return nextResolve(specifier, context);
    // `require`, which keeps what it found, has no attributes at all.
    const isPlainImport = typeof importAttributes === "object" && Object.keys(importAttributes).length === 0;
    if (isPlainImport && /^[a-z@][^:]*$/i.test(specifier)) {
      const key = `${parentURL.slice(0, parentURL.lastIndexOf("/"))} ${specifier}`;
      const known = found.get(key) ?? nextResolve(specifier, context);
      found.set(key, known);
      return { ...known, shortCircuit: true };
    }
    const isOwn = parentURL.includes("/node_modules/drizzle-orm/") && parentURL.endsWith(".js");
    if (!isOwn || !specifier.startsWith(".") || !specifier.endsWith(".js"))
      return nextResolve(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: "module", shortCircuit: true };
  },
});
