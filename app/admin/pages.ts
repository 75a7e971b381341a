/** The pages of the administration, in their order. */
export const adminPages = [
  { key: "overview", href: "/admin" },
  { key: "queues", href: "/admin/queues" },
  { key: "nodes", href: "/admin/nodes" },
  { key: "jobs", href: "/admin/jobs" },
  { key: "providers", href: "/admin/providers" },
  { key: "deliveries", href: "/admin/deliveries" },
  { key: "assistant", href: "/admin/assistant" },
  { key: "users", href: "/admin/users" },
  { key: "audit", href: "/admin/audit" },
] as const;
