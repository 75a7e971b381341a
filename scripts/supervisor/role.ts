/** What one supervisor runs: `dev` pages and worker, `start` the built pages, `worker` a worker. */
export type Role = "dev" | "start" | "worker";

/** Roles that serve pages. */
export const servingRoles: readonly Role[] = ["dev", "start"];

export function isRole(value: string): value is Role {
  return value === "dev" || value === "start" || value === "worker";
}
