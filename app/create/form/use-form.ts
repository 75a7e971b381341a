"use client";
import { useSyncExternalStore } from "react";
import { type CreateForm, emptyForm } from "./create-form.ts";
import { createForm } from "./form-store.ts";

export function useForm(): CreateForm {
  return useSyncExternalStore(createForm.watch, createForm.get, () => emptyForm);
}
