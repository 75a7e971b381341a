"use client";
import { type ComponentType, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { loadCode, tryAgain } from "./code.ts";

/** What shows that a person is there, and comes before any click. */
const signs = ["pointermove", "pointerdown", "keydown"] as const;

let hadSign = false;
const waiting = new Set<() => void>();

function takeSign(): void {
  hadSign = true;
  for (const type of signs) window.removeEventListener(type, takeSign, { capture: true });
  for (const run of waiting) run();
  waiting.clear();
}

let isComposing = false;
if (typeof window !== "undefined") {
  const options = { capture: true, passive: true };
  window.addEventListener("compositionstart", () => (isComposing = true), options);
  window.addEventListener("compositionend", () => (isComposing = false), options);
}

/** Runs once a person moves a pointer, touches the page or presses a key; returns how to forget it. */
function onFirstSign(run: () => void): () => void {
  if (hadSign) {
    run();
    return () => undefined;
  }
  if (waiting.size === 0)
    for (const type of signs) window.addEventListener(type, takeSign, { capture: true, passive: true });
  waiting.add(run);
  return () => waiting.delete(run);
}

/** Runs this once a person is there: for code that a click may need and no part of the page waits for yet. */
export function useFirstSign(run: () => void): void {
  useEffect(() => onFirstSign(run), [run]);
}

interface LaterProps<Props> {
  readonly props: Props;
  /** Load it now, since it is to be shown; false waits for the first sign of a person. */
  readonly isWanted: boolean;
  /** False keeps it off the page when it is loaded; true by default. */
  readonly isShown?: boolean;
  /** What was wanted could not be loaded: told once, though it is tried again as long as it is wanted. */
  readonly onFailure: (error: unknown) => void;
  /** Stands in its place until its code is there. */
  readonly children?: ReactNode;
  /** It took the place of a part that had the focus. */
  readonly onReplaced?: (focused: Element) => void;
}

/**
 * A component whose code is loaded when it is wanted, or at the first sign of a person, so that it is there before
 * anybody can click. A page that is only looked at does not load it. `preload` loads it where nothing shows it yet.
 */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  let loading: Promise<void> | null = null;
  let loaded: ComponentType<Props> | null = null;
  const read = () => loaded;
  const ensure = () => {
    loading ??= loadCode(load).then(
      (component) => {
        loaded = component;
      },
      (error: unknown) => {
        loading = null;
        throw error;
      },
    );
    return loading;
  };
  const attempt = () =>
    ensure().then(
      () => true,
      () => false,
    );
  function Later({
    props,
    isWanted,
    isShown = true,
    onFailure,
    children = null,
    onReplaced,
  }: LaterProps<Props>) {
    const [Component, setComponent] = useState(read);
    const latest = useRef({ onFailure, onReplaced });
    useLayoutEffect(() => {
      latest.current = { onFailure, onReplaced };
    });
    useEffect(() => {
      if (Component !== null) return undefined;
      const show = () => {
        // A press on what it replaces would be lost, and characters that are being composed in it.
        if (isComposing || document.querySelector(":active") !== null) {
          requestAnimationFrame(show);
          return;
        }
        const focused = document.activeElement;
        flushSync(() => setComponent(read));
        if (focused?.isConnected === false) latest.current.onReplaced?.(focused);
      };
      // Nobody waits for it yet, and what wants it tries again.
      if (!isWanted) return onFirstSign(() => void ensure().then(show, () => undefined));
      let isOver = false;
      const insist = async (error: unknown) => {
        if (isOver) return;
        latest.current.onFailure(error);
        await tryAgain(attempt, () => !isOver);
        if (!isOver) show();
      };
      void ensure().then(show, insist);
      return () => {
        isOver = true;
      };
    }, [Component, isWanted]);
    if (Component === null) return children;
    return isShown ? <Component {...props} /> : null;
  }
  return Object.assign(Later, { preload: () => void attempt() });
}
