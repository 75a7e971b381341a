import type { HttpRoute } from "../route.ts";
import { imageRoutes } from "../images.ts";
import { jobBundleRoute } from "./job-bundle.ts";
import { jobEventsRoute } from "../job-files.ts";
import { jobRoutes } from "../jobs.ts";
import { createUpload } from "./uploads.ts";
import { listWorkflows } from "./workflows.ts";

/** Every route of the HTTP API. What is served, documented and tested for access comes from this table alone. */
export const httpRoutes: readonly HttpRoute[] = [
  createUpload,
  ...imageRoutes,
  ...jobRoutes,
  jobEventsRoute,
  jobBundleRoute,
  listWorkflows,
];
