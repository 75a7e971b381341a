"use client";
import { useFormatter } from "next-intl";
import { type RefObject, useEffect, useLayoutEffect, useState, useSyncExternalStore } from "react";

const never = () => () => undefined;

/** False during hydration, when the client must render the same as the server's HTML. */
export function useIsHydrated(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}

/**
 * Hands over what stands in a field of the server's HTML when the page's code arrives and differs from its value: it was
 * typed before that, or put there by the browser at a reload, and the next render would remove it.
 */
export function useFirstText(
  field: RefObject<HTMLInputElement | HTMLTextAreaElement | null>,
  value: string,
  take: (text: string) => void,
): void {
  const isHydrated = useIsHydrated();
  useLayoutEffect(() => {
    const text = field.current?.value ?? value;
    if (!isHydrated && text !== value) take(text);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only what the first layout finds was typed before it
  }, []);
}

/** The value after it has not changed for `quietMs`. */
export function useSettled<Value>(value: Value, quietMs: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs);
    return () => clearTimeout(timer);
  }, [quietMs, value]);
  return settled;
}

/** Amounts in US dollars as text, with tenths of a cent below one dollar. */
export function useDollars(): (usd: number) => string {
  const format = useFormatter();
  return (usd) =>
    format.number(usd, {
      style: "currency",
      currency: "USD",
      maximumFractionDigits: usd > 0 && usd < 1 ? 3 : 2,
    });
}
