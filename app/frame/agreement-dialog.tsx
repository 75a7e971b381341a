"use client";
import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import { type Agreed, type CloudOffer, type PriceQuestion } from "../client/submit/agreement.ts";
import { useCloudNames } from "../client/cloud.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { useDollars } from "../ui/hooks.ts";
import { Dialog } from "../ui/overlays.tsx";
import { readNumber } from "../ui/typed.ts";

/** More is a slip of the keyboard. */
const highestUsd = 1_000;

/** The amount that was typed, US dollars; null while it is none. */
function amountIn(typed: string, locale: string): number | null {
  const usd = readNumber(typed.trim().replace(/^\$|\$$/, ""), locale);
  return usd > 0 && usd <= highestUsd ? usd : null;
}

/** What a click agrees to; null while a maximum is missing. */
function agreementFor({ priceUsd, maxPriceUsd }: CloudOffer, maximum: number | null): Agreed | null {
  if (priceUsd !== null) return { maxPriceUsd: maxPriceUsd ?? priceUsd };
  return maximum === null ? null : { maxPriceUsd: maximum, unknownPrice: true };
}

function usePriceText({ priceUsd, maxPriceUsd }: CloudOffer, count: number): string | null {
  const t = useTranslations("cloud.agree");
  const usd = useDollars();
  if (priceUsd === null) return t("priceUnknown");
  const price = usd(priceUsd * count);
  if (maxPriceUsd !== null && maxPriceUsd > priceUsd)
    return t("priceUpTo", { price, most: usd(maxPriceUsd * count) });
  return priceUsd === 0 ? null : t("price", { price });
}

/** The label of the button, with all that it may cost. */
function useMakeLabel({ cloud, count }: PriceQuestion, agreed: Agreed | null): string {
  const t = useTranslations("cloud.agree");
  const usd = useDollars();
  if (agreed === null) return t("makeFree");
  const price = usd(agreed.maxPriceUsd * count);
  if (agreed.maxPriceUsd === 0) return t("makeFree");
  return t(agreed.maxPriceUsd === cloud.priceUsd ? "make" : "makeUpTo", { price });
}

function Question({ question }: { readonly question: PriceQuestion }) {
  const t = useTranslations("cloud.agree");
  const nameOf = useCloudNames();
  const locale = useLocale();
  const [typed, setTyped] = useState("");
  const { cloud, count, answer } = question;
  const agreed = agreementFor(cloud, amountIn(typed, locale));
  const price = usePriceText(cloud, count);
  const label = useMakeLabel(question, agreed);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (agreed !== null) answer(agreed);
      }}
    >
      <div className="flex flex-col gap-3 text-sm text-quiet">
        <p>{t("text", { title: cloud.title, provider: nameOf("providers", cloud.provider), count })}</p>
        {price === null ? null : <p className="tabular">{price}</p>}
        {cloud.priceUsd === null ? (
          <Field
            name="maximum"
            label={t("maximum")}
            inputMode="decimal"
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        ) : null}
      </div>
      <div className="mt-6 flex flex-wrap justify-end gap-2">
        <Button look="quiet" onClick={() => answer(null)}>
          {t("keep")}
        </Button>
        <Button type="submit" look="primary" disabled={agreed === null}>
          {label}
        </Button>
      </div>
    </form>
  );
}

/** Shows place and price of what was requested and was not shown before, and asks whether it may be made there. */
export function AgreementDialog({ question }: { readonly question: PriceQuestion | null }) {
  const t = useTranslations("cloud.agree");
  return (
    <Dialog
      open={question !== null}
      onOpenChange={(isOpen) => {
        if (!isOpen) question?.answer(null);
      }}
      title={t(question?.cloud.priceUsd === 0 ? "titleFree" : "title")}
    >
      {question === null ? null : <Question question={question} />}
    </Dialog>
  );
}
