import { z } from "zod";
import { noteAnswer, openBundle } from "../../../jobs/index.ts";
import { defineRoute } from "../route.ts";
import { servedStream } from "../served-stream.ts";

export const jobBundleRoute = defineRoute({
  method: "get",
  path: "/jobs/{id}/bundle",
  operationId: "getJobBundle",
  summary: "Download all of a job as a zip",
  description: "Inputs, mask, results, parameters, story and figures.",
  tag: "jobs",
  resource: "job",
  params: z.object({ id: z.string() }),
  responses: { 200: { description: "The zip.", contentType: "application/zip" } },
  async handle({ services, caller, params: { id } }) {
    const zip = await openBundle(services, { ownerId: caller.userId, id });
    return new Response(
      servedStream(zip, () => noteAnswer(services, id)),
      {
        headers: {
          "Content-Type": "application/zip",
          "Content-Disposition": `attachment; filename="job-${id}.zip"`,
          "Cache-Control": "private, no-store",
          "X-Content-Type-Options": "nosniff",
        },
      },
    );
  },
});
