"use client";
import { useMutation } from "@tanstack/react-query";
import { authClient } from "../data/auth-client.ts";
import { announceAccountChange } from "../live/account-change.ts";
import type { SignInMode } from "./sign-in-card.tsx";

export interface Credentials {
  /** Asked of a new account alone. */
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

/** Signs in or makes an account; every tab then loads anew. */
export function useEnter(mode: SignInMode) {
  return useMutation({
    mutationFn: async ({ name, email, password }: Credentials) => {
      const answer =
        mode === "create"
          ? await authClient.signUp.email({ name: name.trim(), email, password })
          : await authClient.signIn.email({ email, password });
      if (answer.error !== null) throw answer.error;
    },
    onSuccess: () => announceAccountChange("/"),
  });
}
