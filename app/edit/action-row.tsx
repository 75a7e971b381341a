import type { OfferedWorkflow } from "../data/use-workflows.ts";

/** The best live workflow that takes words and exactly these pictures. */
export function findForWords(
  workflows: readonly OfferedWorkflow[] | undefined,
  roles: readonly string[],
): OfferedWorkflow | undefined {
  return workflows?.find(
    ({ isLive, params, inputs }) =>
      isLive &&
      params.prompt !== undefined &&
      roles.every((role) => inputs.some((input) => input.role === role)) &&
      inputs.every(({ role, required }) => !required || roles.includes(role)),
  );
}

/** The best live workflow that enlarges by this factor. */
export function findForScale(
  workflows: readonly OfferedWorkflow[] | undefined,
  scale: number,
): OfferedWorkflow | undefined {
  return workflows?.find(({ isLive, params }) => {
    const choices = params.scale?.choices;
    return isLive && choices !== undefined && String(scale) in choices;
  });
}
