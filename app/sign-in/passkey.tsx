"use client";
import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { authClient, enterAccount } from "../client/session.ts";
import { Button } from "../ui/button.tsx";
import { useAuthError } from "./errors.ts";
import { finishEntry, headersOf } from "./providers.tsx";

/** Of the field in which a browser offers passkeys; `webauthn` must be the last word. */
export const offeringField = "username webauthn";

/** A challenge is valid for five minutes, and an offer may stand for longer. */
const renewMs = 4 * 60_000;
/** When the page is shown again, an offer younger than this stays: the user may be answering it on a full-screen prompt of the system. */
const youngMs = 60_000;

/** Whether this browser can offer passkeys in a field. */
async function canOffer(): Promise<boolean> {
  const known: Partial<typeof PublicKeyCredential> = window.PublicKeyCredential ?? {};
  if (!known.isConditionalMediationAvailable || !known.parseRequestOptionsFromJSON) return false;
  return PublicKeyCredential.isConditionalMediationAvailable();
}

/** The passkey that somebody chose in the field; null when the offer ended without one, for whatever reason. */
async function waitForChoice(signal: AbortSignal): Promise<PublicKeyCredential | null> {
  try {
    if (!(await canOffer())) return null;
    const { $fetch } = await authClient();
    const path = "/passkey/generate-authenticate-options";
    const asked = await $fetch<PublicKeyCredentialRequestOptionsJSON>(path, { method: "GET", signal });
    if (asked.data === null) return null;
    const options = { ...asked.data, allowCredentials: [] };
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    const chosen = await navigator.credentials.get({ mediation: "conditional", publicKey, signal });
    return chosen instanceof PublicKeyCredential ? chosen : null;
  } catch {
    // Nobody asked for the offer, so its end is no failure: it was withdrawn, declined, or is not possible here.
    return null;
  }
}

/**
 * Offers passkeys in the e-mail field until the signal; true when one signed in. The client of the library could not be stopped while it
 * waits for its challenge. Throws the server's error about a passkey that was chosen.
 */
async function offerPasskey(headers: Record<string, string>, signal: AbortSignal): Promise<boolean> {
  const chosen = await waitForChoice(signal);
  if (chosen === null) return false;
  const { error } = await enterAccount<{ error: unknown }>(({ $fetch }) =>
    $fetch("/passkey/verify-authentication", {
      method: "POST",
      body: { response: chosen.toJSON() },
      headers,
    }),
  );
  if (error !== null) throw error;
  return true;
}

interface Offer {
  readonly token: string | null;
  readonly onRefused: (error: unknown) => void;
}

/**
 * Offers passkeys while the page is shown. `withdraw` ends the offer and resolves once it has ended; `renew` makes a new one. A
 * challenge is valid for five minutes, so a page that is shown again after that makes a new offer.
 */
function useOffer(isWanted: boolean, { token, onRefused }: Offer) {
  const [round, nextRound] = useReducer((count: number) => count + 1, 0);
  const isHeld = useRef(false);
  const madeAtMs = useRef(Number.NEGATIVE_INFINITY);
  const current = useRef({ stop: new AbortController(), end: Promise.resolve() });
  const renew = useCallback(() => {
    isHeld.current = false;
    nextRound();
  }, []);
  useEffect(() => {
    if (!isWanted) return undefined;
    const before = current.current.end;
    const stop = new AbortController();
    const run = async () => {
      await before;
      // The browser keeps few challenges: those of hidden pages would take the place of that of the page in use.
      if (stop.signal.aborted || isHeld.current || document.visibilityState !== "visible") return;
      madeAtMs.current = performance.now();
      try {
        if (await offerPasskey(headersOf(token), stop.signal)) await finishEntry();
      } catch (error) {
        onRefused(error);
        nextRound();
      }
    };
    current.current = { stop, end: run() };
    return () => stop.abort();
  }, [isWanted, round, token, onRefused]);
  useEffect(() => {
    if (!isWanted) return undefined;
    const renewIfSeen = () => {
      const isOld = performance.now() - madeAtMs.current > youngMs;
      if (document.visibilityState === "visible" && isOld && !isHeld.current) nextRound();
    };
    // The focus goes to the window in which somebody answers.
    const renewIfUnanswered = () => {
      if (document.hasFocus()) renewIfSeen();
    };
    const timer = setInterval(renewIfUnanswered, renewMs);
    document.addEventListener("visibilitychange", renewIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", renewIfSeen);
    };
  }, [isWanted]);
  const withdraw = useCallback(() => {
    isHeld.current = true;
    current.current.stop.abort();
    return current.current.end;
  }, []);
  return { withdraw, renew };
}

interface Props {
  /** The token of an invitation or of the first admin. */
  readonly token: string | null;
  /** Whether there is a field in which passkeys are offered, too. */
  readonly hasField: boolean;
}

/** Signs in with a passkey: by the button, or by what the browser offers in the e-mail field. */
export function PasskeyEntry({ token, hasField }: Props) {
  const t = useTranslations("signIn");
  const textOf = useAuthError();
  const [refusal, setRefusal] = useState<unknown>(null);
  const { withdraw, renew } = useOffer(hasField, { token, onRefused: setRefusal });
  const enter = useMutation({
    mutationFn: async () => {
      setRefusal(null);
      await withdraw();
      const { error } = await enterAccount<{ error: unknown }>(({ signIn }) =>
        signIn.passkey({ fetchOptions: { headers: headersOf(token) } }),
      );
      if (error !== null) throw error;
    },
    onSuccess: finishEntry,
    onError: renew,
  });
  const error = refusal ?? enter.error;
  return (
    <>
      <Button size="large" className="w-full" disabled={enter.isPending} onClick={() => enter.mutate()}>
        <KeyRound aria-hidden />
        {t("passkey")}
      </Button>
      {error === null ? null : (
        <p role="alert" className="text-xs text-fail">
          {textOf(error)}
        </p>
      )}
    </>
  );
}
