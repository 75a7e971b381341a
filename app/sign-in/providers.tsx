"use client";
import { useMutation } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useSearchParams } from "next/navigation";
import { useEffect } from "react";
import type { Entry } from "@atelier/server/accounts";
import { api } from "../client/api.ts";
import { announceAccountChange } from "../client/leaving.ts";
import { enterAccount, noteAccount } from "../client/session.ts";
import { rememberLocale } from "../client/cookies.ts";
import { Button } from "../ui/button.tsx";

/** After a sign-in: notes the account and its language; then every tab reloads. */
export async function finishEntry(): Promise<void> {
  // Without the language the next page would be in that of the browser first.
  const me = await api.account.me.query().catch(() => null);
  if (me?.locale) rememberLocale(me.locale);
  if (me?.isGuest !== true) noteAccount(true);
  announceAccountChange("/");
}

/** The headers of a sign-in with the token of a link: that of an invitation or of the first admin. */
export const headersOf = (token: string | null): Record<string, string> =>
  token === null ? {} : { "atelier-token": token };

/** Where a provider leads back to after a sign-in. */
const enteredUrl = "/sign-in?entered=1";

/** Ends a sign-in through a provider; true while it does. */
export function useEntered(): boolean {
  const hasEntered = useSearchParams().has("entered");
  useEffect(() => {
    if (!hasEntered) return;
    // A page of the browser's history, without a session.
    const leave = () => window.location.replace("/sign-in");
    api.account.me.query().then((me) => (me && !me.isGuest ? finishEntry() : leave()), leave);
  }, [hasEntered]);
  return hasEntered;
}

/** Goes to the login page of a provider. */
function useProvider(token: string | null) {
  const headers = headersOf(token);
  return useMutation({
    mutationFn: async ({ id: provider, name }: Entry["providers"][number]) => {
      const answer = await enterAccount((client) =>
        client.signIn.social({
          provider,
          callbackURL: enteredUrl,
          errorCallbackURL: "/sign-in",
          disableRedirect: true,
          fetchOptions: { headers },
        }),
      );
      if (answer.error !== null) throw { ...answer.error, provider: name };
      window.location.assign(answer.data.url ?? "/sign-in");
    },
  });
}

interface ProvidersProps {
  readonly providers: Entry["providers"];
  /** The token of an invitation or of the first admin. */
  readonly token: string | null;
  readonly textOf: (error: unknown) => string;
  /** The last try is about to lead to another page. */
  readonly isBusy: boolean;
  /** Passwords follow below. */
  readonly hasMore: boolean;
}

/** Why the last try failed, and a button for each provider. */
export function Providers({ providers, token, textOf, isBusy, hasMore }: ProvidersProps) {
  const t = useTranslations("signIn");
  const query = useSearchParams();
  const problem = query.get("problem");
  const provider = providers.find(({ id }) => id === query.get("provider"))?.name;
  const enter = useProvider(token);
  const error = enter.error ?? (problem === null || enter.isPending ? null : { code: problem, provider });
  return (
    <div className="flex flex-col gap-3">
      {error === null ? null : (
        <p
          role="alert"
          className="rounded-control bg-well px-3 py-2.5 text-sm text-fail ring-1 ring-line ring-inset"
        >
          {textOf(error)}
        </p>
      )}
      {providers.map(({ id, name }) => (
        <Button
          key={id}
          size="large"
          className="w-full"
          disabled={isBusy || enter.isPending}
          onClick={() => enter.mutate({ id, name })}
        >
          <span className="min-w-0 truncate">{t("with", { name })}</span>
        </Button>
      ))}
      {hasMore && providers.length > 0 ? (
        <p className="mt-2 mb-4 flex items-center gap-3 text-xs text-quiet before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
          {t("or")}
        </p>
      ) : null}
    </div>
  );
}
