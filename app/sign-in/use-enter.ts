"use client";
import { useMutation } from "@tanstack/react-query";
import { authClient } from "../data/auth-client.ts";
import { announceAccountChange } from "../live/account-change.ts";
import type { SignInMode } from "./sign-in.tsx";
import type { EntryToken } from "./use-entry-token.ts";

export interface Credentials {
  /** Asked of a new account alone. */
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

/** Signs in or makes an account; every tab then loads anew. */
export function useEnter(mode: SignInMode, token: EntryToken | null) {
  const fetchOptions = token === null ? {} : { headers: { "atelier-token": token.value } };
  return useMutation({
    mutationFn: async ({ name, email, password }: Credentials) => {
      const answer =
        mode === "create"
          ? await authClient.signUp.email({ name: name.trim(), email, password, fetchOptions })
          : await authClient.signIn.email({ email, password, fetchOptions });
      if (answer.error !== null) throw answer.error;
    },
    onSuccess: () => announceAccountChange("/"),
  });
}
