import { registerHooks } from "node:module";

/**
 * Resolves relative imports inside drizzle-orm without its package.json; loaded with `node --import`. Node 24 parses
 * the `exports` of the package (175 KB) again for each of these imports: a third of the start time of a worker. All
 * files of the package are ES modules, so the path is enough.
 */
registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL } = context;
    const isOwn = parentURL?.includes("/node_modules/drizzle-orm/") && parentURL.endsWith(".js");
    if (!isOwn || !specifier.startsWith(".") || !specifier.endsWith(".js"))
      return nextResolve(specifier, context);
    return { url: new URL(specifier, parentURL).href, format: "module", shortCircuit: true };
  },
});
