"use client";
import type { Entry } from "@atelier/server/accounts";
import { useSyncExternalStore } from "react";

/** From the link that the server printed, or from an admin's invitation. */
export interface EntryToken {
  readonly kind: "admin" | "invitation";
  readonly value: string;
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener("hashchange", onChange);
  return () => window.removeEventListener("hashchange", onChange);
}

function parse(hash: string): EntryToken | null {
  const [, kind, value] = /^#(admin|invitation)=([\w-]+)$/.exec(hash) ?? [];
  if (value === undefined) return null;
  return { kind: kind === "admin" ? "admin" : "invitation", value };
}

/** The token in the address, if it is of use now. It is in the fragment, so that no server and no log sees it. */
export function useEntryToken({ signUp, needsAdmin }: Entry): EntryToken | null {
  const hash = useSyncExternalStore(
    subscribe,
    () => window.location.hash,
    () => "",
  );
  const token = parse(hash);
  const isOfUse = token?.kind === "admin" ? needsAdmin : signUp === "invite";
  return isOfUse ? token : null;
}
