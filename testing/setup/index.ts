import { openBundleFolder } from "../processes/bundle-folder.ts";
import { hasTestPostgres, startTestPostgres } from "../postgres/servers.ts";

/** Vitest's global set-up: one database server and one bundle of programs for the whole run, begun for the first project that names this file. */
export async function setup(): Promise<() => Promise<void>> {
  if (hasTestPostgres()) return async () => {};
  const server = await startTestPostgres({ checksStories: true });
  const removeBundle = openBundleFolder();
  return async () => {
    removeBundle();
    await server.stop();
  };
}
