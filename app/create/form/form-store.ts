import { type CreateForm, emptyForm, type OwnSettings } from "./create-form.ts";
import { readStored, writeStored } from "../form.ts";

const listeners = new Set<() => void>();
let form: CreateForm | null = null;

/** The form of the page, one for the tab; kept in the browser. */
export const createForm = {
  get: (): CreateForm => {
    form ??= typeof window === "undefined" ? emptyForm : readStored();
    return form;
  },
  set: (changes: Partial<CreateForm>): void => {
    form = { ...createForm.get(), ...changes };
    writeStored(form);
    for (const listener of listeners) listener();
  },
  /** Settings of one workflow; undefined goes back to its default. */
  setFor: (workflow: string, changes: { [Name in keyof OwnSettings]: number | undefined }): void => {
    const { settings } = createForm.get();
    createForm.set({ settings: { ...settings, [workflow]: { ...settings[workflow], ...changes } } });
  },
  watch: (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
