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

/** The place and price of now in a refusal; null for other failures. */
function offerIn(error: unknown): CloudOffer | null {
  const { code, details } = failureOf(error);
  const cloud = details?.["cloud"];
  // Safe cast: the refusal of a submit has the offer in this shape.
  return code === "not_agreed" && typeof cloud === "object" ? (cloud as CloudOffer | null) : null;
}

/**
 * The path of a single request that may cost money (a batch has its own, in batch.ts): sends what was agreed to, and when the place or the price has changed
 * shows the new one and asks once more. Throws `NotWanted` when the user does not agree.
 */
export async function withAgreement<Answer>(
  shown: Agreed,
  send: (agreed: Agreed) => Promise<Answer>,
  count: () => number = () => 1,
): Promise<Answer> {
  let agreed = shown;
  for (;;) {
    try {
      return await send(agreed);
    } catch (error) {
      const offer = offerIn(error);
      if (offer === null) throw error;
      agreed = await askPrice(offer, count());
    }
  }
}
