"use client";
import { Check, Shirt } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useState } from "react";
import { useBatchEstimate } from "../client/submit/batch.ts";
import { useCapability } from "../client/queries.ts";
import { BatchEstimateLine } from "../batches/estimate-line.tsx";
import { RunButton } from "../parts/run-button.tsx";
import { LoadFailed, PageHeader } from "../parts/page-parts.tsx";
import { Picture } from "../pictures/picture.tsx";
import { EngineChoice, useOutfitEngine } from "../studio/engine.tsx";
import { buttonStyle, cx } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { Checkbox } from "../ui/fields.tsx";
import { isNotWorn, useItemName, useWardrobe, type WardrobeItem } from "../client/wardrobe.ts";
import { type Look, Looks } from "./looks.tsx";
import { categoryFor, lookbookLimits, lookbookRequest, useStart } from "./order.ts";

interface ChoiceProps {
  readonly title: string;
  readonly items: readonly WardrobeItem[];
  readonly chosenIds: readonly string[];
  readonly limit: number;
  /** Why an item cannot be chosen; null when it can. */
  readonly refusal: (item: WardrobeItem) => string | null;
  readonly onChange: (ids: readonly string[]) => void;
}

/** Several items of the wardrobe to choose from, in the order in which they are chosen. */
function Choice({ title, items, chosenIds, limit, refusal, onChange }: ChoiceProps) {
  const t = useTranslations("lookbook");
  const nameOf = useItemName();
  const isFull = chosenIds.length >= limit;
  const toggle = (id: string) =>
    onChange(chosenIds.includes(id) ? chosenIds.filter((one) => one !== id) : [...chosenIds, id]);
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-3 flex w-full items-baseline gap-3 text-sm font-medium">
        {title}
        <span className="tabular text-xs font-normal text-quiet">
          {t("count", { count: chosenIds.length, limit })}
        </span>
      </legend>
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(96px,1fr))] gap-3 md:grid-cols-[repeat(auto-fill,minmax(128px,1fr))] xl:grid-cols-[repeat(auto-fill,minmax(160px,1fr))]">
        {items.map((item) => {
          const isChosen = chosenIds.includes(item.imageId);
          const reason = refusal(item);
          return (
            <li key={item.id} className="min-w-0">
              <button
                type="button"
                role="checkbox"
                aria-checked={isChosen}
                aria-label={nameOf(item)}
                disabled={!isChosen && (isFull || reason !== null)}
                onClick={() => toggle(item.imageId)}
                className="plate relative block aspect-4/5 w-full overflow-hidden rounded-control ring-1 ring-line transition duration-120 hover:ring-ink disabled:opacity-40 aria-checked:ring-2 aria-checked:ring-accent"
              >
                <Picture
                  imageId={item.imageId}
                  variant="thumbnail"
                  thumbhash={item.thumbhash}
                  alt=""
                  fit={item.what === "person" ? "cover" : "contain"}
                  className="size-full"
                />
                <span
                  aria-hidden
                  className={cx(
                    "absolute top-1.5 inset-e-1.5 flex size-5 items-center justify-center rounded-full bg-accent text-on-accent",
                    !isChosen && "hidden",
                  )}
                >
                  <Check className="size-3.5" strokeWidth={3} />
                </span>
              </button>
              <p className={cx("mt-1 text-xs text-quiet", reason === null && "line-clamp-2")}>
                {reason ?? nameOf(item)}
              </p>
            </li>
          );
        })}
      </ul>
    </fieldset>
  );
}

interface ConsentsProps {
  readonly persons: readonly WardrobeItem[];
  readonly statedIds: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
}

/** The statement for each chosen photo of which nobody made it yet. */
function Consents({ persons, statedIds, onChange }: ConsentsProps) {
  const t = useTranslations("lookbook");
  return persons.map(({ id, imageId, thumbhash }) => (
    <div key={id} className="flex items-center gap-3">
      <Picture
        imageId={imageId}
        variant="thumbnail"
        thumbhash={thumbhash}
        alt=""
        className="size-10 shrink-0 rounded-control"
      />
      <Checkbox
        checked={statedIds.includes(imageId)}
        onChange={(isStated) =>
          onChange(isStated ? [...statedIds, imageId] : statedIds.filter((one) => one !== imageId))
        }
      >
        {t("consent")}
      </Checkbox>
    </div>
  ));
}

function Room({ items }: { readonly items: readonly WardrobeItem[] }) {
  const t = useTranslations("lookbook");
  const [personIds, setPersons] = useState<readonly string[]>([]);
  const [looks, setLooks] = useState<readonly Look[]>([]);
  const [statedIds, setStated] = useState<readonly string[]>([]);
  const { chosen: engine } = useOutfitEngine(null);
  const isAvailable = useCapability("outfit_change")?.available ?? true;
  const { start, isBusy } = useStart();
  const ready = items.filter(({ isBeingCutOut }) => !isBeingCutOut);
  const persons = ready.filter(({ what }) => what === "person");
  const garments = ready.filter(({ what }) => what === "garment");
  const pick = (ids: readonly string[]) =>
    ids.flatMap((id) => ready.find(({ imageId }) => imageId === id) ?? []);
  const unstated = pick(personIds).filter(({ hasConsent }) => !hasConsent);
  const isStated = unstated.every(({ imageId }) => statedIds.includes(imageId));
  const input = lookbookRequest({ title: t("name"), personIds, looks: looks.map(pick), engine });
  const answer = useBatchEstimate(input);
  const count = personIds.length * looks.length;
  return (
    <div className="grid gap-8 px-4 pb-24 sm:px-6 wide:grid-cols-[minmax(0,1fr)_288px] wide:px-8">
      <div className="flex min-w-0 flex-col gap-8">
        <Choice
          title={t("persons")}
          items={persons}
          chosenIds={personIds}
          limit={lookbookLimits.persons}
          refusal={() => null}
          onChange={setPersons}
        />
        <Choice
          title={t("looks")}
          items={garments}
          chosenIds={looks.flatMap(([first]) => (first === undefined ? [] : [first]))}
          limit={lookbookLimits.garments}
          refusal={(item) => {
            if (isNotWorn(item)) return t("notWorn");
            return categoryFor(item, engine) === null ? t("cannot") : null;
          }}
          onChange={(ids) => setLooks(ids.map((id) => looks.find(([first]) => first === id) ?? [id]))}
        />
        <Looks
          looks={looks}
          garments={garments.filter((item) => categoryFor(item, engine) !== null)}
          engine={engine}
          onChange={setLooks}
        />
      </div>
      <aside aria-label={t("order")} className="flex h-fit flex-col gap-4 wide:sticky wide:top-6">
        <EngineChoice personId={null} />
        <Consents persons={unstated} statedIds={statedIds} onChange={setStated} />
        {input === null || answer === undefined ? (
          <p className="text-xs text-quiet">{t("hint")}</p>
        ) : (
          <BatchEstimateLine answer={answer} count={count} />
        )}
        <RunButton
          canRun={input !== null && isStated && isAvailable && (answer?.refused.length ?? 0) === 0}
          isBusy={isBusy}
          onRun={() =>
            input === null ||
            start(
              { input, shownUsd: answer?.maxPriceUsd },
              unstated.map(({ imageId }) => imageId),
            )
          }
        >
          {t("make", { count })}
        </RunButton>
      </aside>
    </div>
  );
}

/** Persons of the wardrobe by garments of the wardrobe, ordered as one batch. */
export function Lookbook() {
  const t = useTranslations("lookbook");
  const { data, error, refetch } = useWardrobe();
  const has = (what: WardrobeItem["what"]) => data?.items.some((item) => item.what === what) === true;
  const isReady = has("person") && has("garment");
  return (
    <>
      <PageHeader title={t("title")}>
        <Link href="/wardrobe" className={buttonStyle()}>
          <Shirt aria-hidden />
          {t("wardrobe")}
        </Link>
      </PageHeader>
      {data === undefined && error !== null ? (
        <LoadFailed error={error} onRetry={() => void refetch()} />
      ) : null}
      {data !== undefined && !isReady ? (
        <EmptyState title={t("empty")} text={t("emptyText")}>
          <Link href="/wardrobe" className={buttonStyle("primary")}>
            {t("toWardrobe")}
          </Link>
        </EmptyState>
      ) : null}
      {data !== undefined && isReady ? <Room items={data.items} /> : null}
    </>
  );
}
