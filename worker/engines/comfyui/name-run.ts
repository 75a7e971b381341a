/** Of the results on a server. */
export const outputFolder = "atelier";

const idChars = 8;
const named = new RegExp(`${outputFolder}/([0-9a-f-]{36})-([0-9a-f]{${idChars}})`, "g");

/** What the files of a run are called on its server, unlike those of any other run. */
export function nameRun(jobId: string, promptId: string): string {
  return `${jobId}-${promptId.slice(0, idChars)}`;
}

/** The job that a prompt was posted for, told by the name of its results; null for prompts of others. */
export function jobOfRun({ promptId, graph }: { promptId: string; graph: unknown }): string | null {
  // What people wrote may look like a name: only the right one holds the start of the id.
  for (const [, jobId, start] of (JSON.stringify(graph) ?? "").matchAll(named))
    if (jobId && start && promptId.startsWith(start)) return jobId;
  return null;
}
