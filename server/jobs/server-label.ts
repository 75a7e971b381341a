import { sql, type SQL } from "drizzle-orm";

/** Host, port where it is not the scheme's own, and path: `192.168.0.107:8188`, `gpu.example.org/comfy/1`. */
export function serverLabel(url: string): string {
  return url.replace(/^https?:\/\//, "");
}

/** The same in SQL. */
export function serverLabelOf(url: SQL): SQL {
  return sql`regexp_replace(${url}, '^https?://', '')`;
}
