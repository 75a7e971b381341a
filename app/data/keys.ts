/** Keys of the query cache, from the general to the particular. */
export const keys = {
  me: ["me"],
  capabilities: ["capabilities"],
  workflows: ["workflows"],
  apiKeys: ["api-keys"],
  images: ["images"],
  imageLists: ["images", "list"],
  imageList: (filters: object) => ["images", "list", filters],
  image: (id: string) => ["images", "one", id],
  allRecentInputs: ["recent-inputs"],
  recentInputs: (role: string) => ["recent-inputs", role],
  jobs: ["jobs"],
  jobList: (filters: object) => ["jobs", "list", filters],
  job: (id: string) => ["jobs", "one", id],
  waiting: ["waiting"],
  estimates: ["estimates"],
  estimate: (request: object | null) => ["estimates", request],
} as const;
