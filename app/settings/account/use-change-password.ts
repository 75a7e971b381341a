"use client";
import { useMutation } from "@tanstack/react-query";
import { authClient } from "../../data/auth-client.ts";

interface Passwords {
  readonly currentPassword: string;
  readonly newPassword: string;
}

/** Sets another password and ends every other session. */
export function useChangePassword(onChanged: () => void) {
  return useMutation({
    mutationFn: async (passwords: Passwords) => {
      const { error } = await authClient.changePassword({ ...passwords, revokeOtherSessions: true });
      if (error !== null) throw error;
    },
    onSuccess: onChanged,
  });
}
