/** What one supervisor runs: `dev` pages and worker, `start` the built pages, `worker` a worker. */
export type Role = "dev" | "start" | "worker";

export function isRole(value: string): value is Role {
  return value === "dev" || value === "start" || value === "worker";
}

export function servesPages(role: Role): boolean {
  return role !== "worker";
}
