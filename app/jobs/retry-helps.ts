/** Refusals of a picture stay refusals however often they are tried. */
const finalCodes: ReadonlySet<string> = new Set([
  "no_person_found",
  "person_unsuitable",
  "garment_unsuitable",
  "input_missing",
  "mask_empty",
  "mask_size",
  "output_too_large",
  "consent_required",
  "upload_unreadable",
  "bad_request",
  "workflow_params",
  "workflow_unknown",
  "graph_invalid",
  "engine_blocked",
]);

export function retryHelps(code: string): boolean {
  return !finalCodes.has(code);
}
