"use client";
import { useSyncExternalStore } from "react";
import type { SubmitInput } from "@atelier/server/jobs";
import { failureOf, NotWanted } from "../../ui/failures.ts";
import { createListeners } from "../../ui/listeners.ts";

export type Agreed = NonNullable<SubmitInput["agreed"]>;

/** Nothing was shown that costs anything. */
export const freeOnly: Agreed = { maxPriceUsd: 0 };

/** A provider that would make pictures now. */
export interface CloudOffer {
  readonly title: string;
  readonly provider: string;
  /** Of one picture, US dollars; null when no source states it. */
  readonly priceUsd: number | null;
  readonly maxPriceUsd: number | null;
}

/** A question to the user: whether so many pictures may be made there, for that price. */
export interface PriceQuestion {
  readonly cloud: CloudOffer;
  readonly count: number;
  readonly answer: (agreed: Agreed | null) => void;
}

const listeners = createListeners();
let questions: readonly PriceQuestion[] = [];

function setQuestions(next: readonly PriceQuestion[]): void {
  questions = next;
  listeners.notify();
}

/** The question that the user has to answer now; those of other requests come after it. */
export const firstQuestion = (): PriceQuestion | null => questions[0] ?? null;

/** Nobody can be asked: all that wait for an answer end without an agreement. */
export function refuseQuestions(): void {
  for (const { answer } of questions) answer(null);
}

export function usePriceQuestion(): PriceQuestion | null {
  return useSyncExternalStore(listeners.watch, firstQuestion, () => null);
}

/** Shows place and price. Throws `NotWanted` when the user does not agree. */
export async function askPrice(cloud: CloudOffer, count: number): Promise<Agreed> {
  const agreed = await new Promise<Agreed | null>((resolve) => {
    const question: PriceQuestion = {
      cloud,
      count,
      answer(given) {
        setQuestions(questions.filter((one) => one !== question));
        resolve(given);
      },
    };
    setQuestions([...questions, question]);
  });
  if (agreed === null) throw new NotWanted();
  return agreed;
}

/** Asks about the place and price of now in the refusal of a job; null for other failures. Throws `NotWanted`. */
export async function askAboutJob(error: unknown, count = 1): Promise<Agreed | null> {
  const { code, details } = failureOf(error);
  const cloud = details?.["cloud"];
  // Safe cast: the refusal of a submit has the offer in this shape.
  const offer = code === "not_agreed" && typeof cloud === "object" ? (cloud as CloudOffer | null) : null;
  return offer && askPrice(offer, count);
}

/**
 * The one path of everything that may cost money: sends what was agreed to, and when the place or the price has changed
 * `ask` shows the new one; null from it is another failure, as is what was sent. Throws `NotWanted` when the user does not agree.
 */
export async function withAgreement<Answer>(
  shown: Agreed,
  send: (agreed: Agreed) => Promise<Answer>,
  ask: (error: unknown) => Promise<Agreed | null> = (error) => askAboutJob(error),
): Promise<Answer> {
  let agreed = shown;
  for (;;) {
    try {
      return await send(agreed);
    } catch (error) {
      const next = await ask(error);
      // The same again: without a price the user was not asked, and each further try would be refused like this one.
      if (next === null || next === agreed) throw error;
      agreed = next;
    }
  }
}
