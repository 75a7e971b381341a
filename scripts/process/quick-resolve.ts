import { registerHooks } from "node:module";

/**
 * Node 24 parses a package's whole `exports` again for each file that one of its files imports; those of drizzle-orm are
 * 175 KB, which was a third of a worker's start. Its files lie beside each other and are of one format, so none of that
 * has to be read. For `node --import`.
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
