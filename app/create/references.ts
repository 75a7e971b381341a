import type { OfferedWorkflow } from "../client/queries.ts";
import {
  inputsOf,
  mostReferences,
  type PictureInput,
  type PictureRole,
  pictureRoles,
  type Reference,
} from "../client/references.ts";
import { createForm } from "./form.ts";

type Takes = Pick<OfferedWorkflow, "inputs">;

/** How many pictures of a role a workflow takes. */
export function placesFor({ inputs }: Takes, role: PictureRole): number {
  return inputsOf[role].filter((name) => inputs.some((input) => input.role === name)).length;
}

/** The roles that a workflow has places for. */
export function rolesOf(workflow: Takes): readonly PictureRole[] {
  return pictureRoles.filter((role) => placesFor(workflow, role) > 0);
}

const ofRole = (references: readonly Reference[], role: PictureRole) =>
  references.filter((one) => one.role === role);

/** The pictures by the inputs of a request; those that the workflow has no place for are left out. */
export function pictureInputs(
  references: readonly Reference[],
  workflow: Takes,
): Partial<Record<PictureInput, string>> {
  const pairs = pictureRoles.flatMap((role) =>
    ofRole(references, role)
      .slice(0, placesFor(workflow, role))
      .map(({ imageId }, at) => [inputsOf[role][at] ?? role, imageId] as const),
  );
  return Object.fromEntries(pairs);
}

/** The pictures of a job, which are inputs of its request. */
export function referencesOf(
  inputs: readonly { readonly role: string; readonly imageId: string }[],
): readonly Reference[] {
  return pictureRoles.flatMap((role) =>
    inputsOf[role].flatMap((name) => {
      const input = inputs.find((one) => one.role === name);
      return input ? [{ imageId: input.imageId, role }] : [];
    }),
  );
}

/** Why a workflow cannot be used with the pictures as they are. */
export type PictureProblem =
  | { readonly what: "noPictures"; readonly workflow: string }
  | { readonly what: "noRole" | "pictureNeeded"; readonly workflow: string; readonly role: PictureRole }
  | {
      readonly what: "tooManyPictures";
      readonly workflow: string;
      readonly role: PictureRole;
      readonly most: number;
    };

const isNeeded = ({ inputs }: Takes, role: PictureRole) =>
  inputs.some((input) => input.required && input.role === role);

/** Whether a workflow needs a picture that the form does not have, whatever else is wrong. */
export function lacksPictures(references: readonly Reference[], offered: Takes): boolean {
  return pictureRoles.some((role) => isNeeded(offered, role) && ofRole(references, role).length === 0);
}

export function pictureProblem(
  references: readonly Reference[],
  offered: Pick<OfferedWorkflow, "inputs" | "title">,
): PictureProblem | null {
  const workflow = offered.title;
  if (references.length > 0 && rolesOf(offered).length === 0) return { what: "noPictures", workflow };
  for (const role of pictureRoles) {
    const most = placesFor(offered, role);
    const count = ofRole(references, role).length;
    if (count > 0 && most === 0) return { what: "noRole", workflow, role };
    if (count > most) return { what: "tooManyPictures", workflow, role, most };
    if (count === 0 && isNeeded(offered, role)) return { what: "pictureNeeded", workflow, role };
  }
  return null;
}

/** The role of a further picture: one with a free place, else one that the workflow has. */
function roleFor(references: readonly Reference[], workflow: Takes | undefined): PictureRole {
  const roles = workflow ? rolesOf(workflow) : [];
  const free = roles.find(
    (role) => workflow !== undefined && ofRole(references, role).length < placesFor(workflow, role),
  );
  return free ?? roles[0] ?? "reference";
}

/** Adds pictures to those of the form, each once and as far as there is room; gives how many found none. */
export function addReferences(imageIds: readonly string[], workflow: Takes | undefined): number {
  const before = createForm.get().references;
  const fresh = [...new Set(imageIds)].filter((id) => before.every(({ imageId }) => imageId !== id));
  const taken = fresh.slice(0, mostReferences - before.length);
  const references = taken.reduce<readonly Reference[]>(
    (list, imageId) => [...list, { imageId, role: roleFor(list, workflow) }],
    before,
  );
  createForm.set({ references });
  return fresh.length - taken.length;
}
