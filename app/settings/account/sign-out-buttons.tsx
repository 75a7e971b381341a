"use client";
import { useMutation } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { authClient } from "../../data/auth-client.ts";
import { useFailureToast } from "../../data/use-failure-toast.ts";
import { announceSignOut } from "../../live/account-change.ts";
import { Button } from "../../ui/button.tsx";

export function SignOutButtons() {
  const t = useTranslations("settings");
  const onError = useFailureToast();
  const signOut = useMutation({
    mutationFn: async (everywhere: boolean) => {
      if (everywhere) await authClient.revokeSessions({ fetchOptions: { throw: true } });
      await authClient.signOut({ fetchOptions: { throw: true } });
    },
    onSuccess: announceSignOut,
    onError,
  });
  return (
    <div className="flex flex-wrap gap-2">
      <Button disabled={signOut.isPending} onClick={() => signOut.mutate(false)}>
        {t("signOut")}
      </Button>
      <Button disabled={signOut.isPending} onClick={() => signOut.mutate(true)}>
        {t("signOutEverywhere")}
      </Button>
    </div>
  );
}
