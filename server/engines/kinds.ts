interface Roles {
  readonly required: readonly InputRole[];
  readonly optional: readonly InputRole[];
}

export type InputRole = "person" | "garment" | "image" | "reference" | "mask";

const roles = (required: readonly InputRole[], optional: readonly InputRole[] = []): Roles => ({
  required,
  optional,
});

/** Every kind of job the product knows, with the images it takes by role. */
const rolesByKind = {
  outfit_change: roles(["person", "garment"], ["mask"]),
  upscale: roles(["image"]),
  inpaint: roles(["image", "mask"]),
  remove_background: roles(["image"]),
  text_to_image: roles([]),
  edit: roles(["image"], ["reference", "mask"]),
  restore_faces: roles(["image"]),
} as const satisfies Record<string, Roles>;

export type JobKind = keyof typeof rolesByKind;
export const jobKinds = Object.keys(rolesByKind) as JobKind[];

export const requiredInputs = (kind: JobKind): readonly InputRole[] => rolesByKind[kind].required;
export const optionalInputs = (kind: JobKind): readonly InputRole[] => rolesByKind[kind].optional;
