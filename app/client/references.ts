import type { InputRole } from "@atelier/server/engines";

/** What a picture that goes with a prompt says: things and people, how it shall look, where what is, or whose face. */
export const pictureRoles = ["reference", "style", "structure", "face"] as const;
export type PictureRole = (typeof pictureRoles)[number];

/** A picture that goes with the prompt. */
export interface Reference {
  readonly imageId: string;
  readonly role: PictureRole;
}

/** Three references, and one of each other role. */
export const mostReferences = 6;

/** Pictures that go with a question to the assistant. */
export const mostGiven = 4;

/** The inputs of a request that pictures of a role fill, in their order. */
export const inputsOf = {
  reference: ["reference", "reference2", "reference3"],
  style: ["style"],
  structure: ["structure"],
  face: ["face"],
} as const satisfies Record<PictureRole, readonly InputRole[]>;

export type PictureInput = (typeof inputsOf)[PictureRole][number];

export const pictureInputRoles: readonly PictureInput[] = Object.values(inputsOf).flat();

/** Create with these pictures beside its prompt; without one it asks for some. */
export const referenceHref = (imageIds: readonly string[]): string =>
  `/create?reference=${imageIds.join(",")}`;
