"use client";
import { Images, Plus, TriangleAlert, X } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter } from "next/navigation";
import { useCallback, useEffect, useState } from "react";
import { BatchEstimateLine } from "../../batches/estimate-line.tsx";
import { readIds } from "../../compare/address.ts";
import { draftKeys, readDraft, writeDraft } from "../../client/leaving.ts";
import { useImage } from "../../client/queries.ts";
import { useSubmitBatch } from "../../client/submit/batch.ts";
import { OwnOnlyChoice } from "../../parts/own-only.tsx";
import { PageHeader } from "../../parts/page-parts.tsx";
import { RunButton } from "../../parts/run-button.tsx";
import { Picture } from "../../pictures/picture.tsx";
import { Button, buttonStyle, cx } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { useIsHydrated } from "../../ui/hooks.ts";
import { Menu, MenuItem } from "../../ui/overlays.tsx";
import { useOrder } from "./order.ts";
import { mostSteps, readRecipe, type Recipe, type Step, stepModes, stepOf } from "./recipe.ts";
import { StepCard } from "./step-card.tsx";

interface PicturesProps {
  readonly imageIds: readonly string[];
  /** Why a picture cannot have it, by its id. */
  readonly refusals: ReadonlyMap<string, string>;
  readonly onRemove: (ids: readonly string[]) => void;
}

function Pictures({ imageIds, refusals, onRemove }: PicturesProps) {
  const t = useTranslations("several");
  return (
    <section aria-label={t("pictures", { count: imageIds.length })} className="flex min-w-0 flex-col gap-3">
      <div className="flex min-h-9 flex-wrap items-center gap-3">
        <h2 className="tabular text-sm font-medium">{t("pictures", { count: imageIds.length })}</h2>
        {refusals.size === 0 ? null : (
          <Button size="small" onClick={() => onRemove([...refusals.keys()])}>
            {t("leaveOut", { count: refusals.size })}
          </Button>
        )}
      </div>
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(128px,1fr))] gap-2 max-wide:-mx-4 max-wide:no-scrollbar max-wide:flex max-wide:overflow-x-auto max-wide:px-4 max-wide:py-1">
        {imageIds.map((id, at) => {
          const refusal = refusals.get(id);
          return (
            <li key={id} className="min-w-0 max-wide:w-24 max-wide:shrink-0">
              <div
                className={cx(
                  "relative aspect-square overflow-hidden rounded-control ring-1 ring-line",
                  refusal !== undefined && "ring-2 ring-warn",
                )}
              >
                <Picture
                  imageId={id}
                  variant="thumbnail"
                  alt={t("picture", { number: at + 1 })}
                  className="size-full"
                />
                <button
                  type="button"
                  aria-label={t("removePicture", { number: at + 1 })}
                  onClick={() => onRemove([id])}
                  className="absolute top-1 inset-e-1 flex size-7 items-center justify-center rounded-full bg-black/70 text-white hover:bg-black [&_svg]:size-4"
                >
                  <X aria-hidden />
                </button>
              </div>
              {refusal === undefined ? null : (
                <p className="mt-1 flex items-start gap-1 text-xs text-warn">
                  <TriangleAlert aria-hidden className="mt-px size-3.5 shrink-0" />
                  <span className="line-clamp-3">{refusal}</span>
                </p>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface StepsProps {
  readonly recipe: Recipe;
  readonly obstacles: readonly (string | null)[];
  readonly sampleId: string | null;
  readonly canByFour: boolean;
  /** From what the recipe is then. */
  readonly onUpdate: (update: (now: Recipe) => Recipe) => void;
}

function Steps({ recipe, obstacles, sampleId, canByFour, onUpdate }: StepsProps) {
  const t = useTranslations("several");
  const modes = useTranslations("edit.modes");
  const { data: sample } = useImage(sampleId);
  const isFull = recipe.length >= mostSteps;
  const updateStep = useCallback(
    (id: number, update: (now: Step) => Step) =>
      onUpdate((now) => now.map((step) => (step.id === id ? update(step) : step))),
    [onUpdate],
  );
  return (
    <>
      <ol aria-label={t("steps")} className="flex flex-col gap-3">
        {recipe.map((step, at) => (
          <StepCard
            key={step.id}
            step={step}
            number={at + 1}
            obstacle={obstacles[at] ?? null}
            sample={sample}
            canByFour={canByFour}
            onUpdate={updateStep}
            onRemove={recipe.length === 1 ? null : () => onUpdate((now) => now.toSpliced(at, 1))}
            onUp={
              at === 0
                ? null
                : () => onUpdate((now) => now.toSpliced(at - 1, 2, ...now.slice(at - 1, at + 1).toReversed()))
            }
          />
        ))}
      </ol>
      <Menu
        trigger={
          <button type="button" disabled={isFull} className={cx(buttonStyle("quiet", "small"), "self-start")}>
            <Plus aria-hidden />
            {t("addStep")}
          </button>
        }
      >
        {stepModes.map((mode) => (
          <MenuItem key={mode} onSelect={() => onUpdate((now) => [...now, stepOf(mode)])}>
            {modes(`${mode}.name`)}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}

/** The pictures and the recipe as they were left, also in another tab of this browser. */
function useKept() {
  const [imageIds, setImages] = useState(() => readIds(readDraft(draftKeys.several)));
  const [recipe, setRecipe] = useState(() => readRecipe(readDraft(draftKeys.recipe)));
  // An upload that ends changes what the recipe is then.
  const updateRecipe = useCallback((update: (now: Recipe) => Recipe) => setRecipe(update), []);
  useEffect(() => writeDraft(draftKeys.recipe, JSON.stringify(recipe)), [recipe]);
  return {
    imageIds,
    recipe,
    updateRecipe,
    keepImages: (ids: readonly string[]) => {
      setImages(ids);
      writeDraft(draftKeys.several, ids.join(","));
    },
  };
}

interface RoomProps extends ReturnType<typeof useKept> {
  readonly isBusy: boolean;
  readonly start: (wanted: Parameters<ReturnType<typeof useSubmitBatch>["mutate"]>[0]) => void;
}

function Room({ imageIds, recipe, keepImages, updateRecipe, isBusy, start }: RoomProps) {
  const t = useTranslations("several");
  const { input, answer, refusals, obstacles, canByFour, limit } = useOrder({ imageIds, recipe });
  const count = imageIds.length;
  return (
    <div className="grid gap-8 px-4 pb-24 sm:px-6 wide:grid-cols-[minmax(0,1fr)_352px] wide:px-8">
      <Pictures
        imageIds={imageIds}
        refusals={refusals}
        onRemove={(ids) => keepImages(imageIds.filter((id) => !ids.includes(id)))}
      />
      <aside aria-label={t("what")} className="flex h-fit min-w-0 flex-col gap-4">
        <Steps
          recipe={recipe}
          obstacles={obstacles}
          sampleId={imageIds[0] ?? null}
          canByFour={canByFour}
          onUpdate={updateRecipe}
        />
        <OwnOnlyChoice />
        <div className="sticky bottom-(--tabs) z-1 -my-3 flex flex-col gap-2 bg-paper py-3 wide:bottom-0">
          {limit === null ? null : <p className="text-xs text-warn">{t("tooMany", { count: limit })}</p>}
          {answer === undefined ? null : <BatchEstimateLine answer={answer} count={count} />}
          <RunButton
            canRun={input !== null && refusals.size === 0}
            isBusy={isBusy}
            onRun={() => input === null || start({ input, shownUsd: answer?.maxPriceUsd })}
          >
            {t("run", { count })}
          </RunButton>
        </div>
      </aside>
    </div>
  );
}

function Kept() {
  const t = useTranslations("several");
  const router = useRouter();
  const kept = useKept();
  const { isPending, mutate } = useSubmitBatch();
  const start: RoomProps["start"] = (wanted) =>
    mutate(wanted, { onSuccess: ({ id }) => router.push(`/batches/${id}`) });
  if (kept.imageIds.length > 0) return <Room {...kept} isBusy={isPending} start={start} />;
  return (
    <EmptyState title={t("empty")} text={t("emptyText")}>
      <Link href="/gallery" className={buttonStyle("primary")}>
        {t("toGallery")}
      </Link>
    </EmptyState>
  );
}

/** Pictures that were chosen in the gallery, each edited by the same steps, ordered as one batch. */
export function Several() {
  const t = useTranslations("several");
  const isHydrated = useIsHydrated();
  return (
    <>
      <PageHeader title={t("title")}>
        <Link href="/gallery" className={buttonStyle()}>
          <Images aria-hidden />
          {t("gallery")}
        </Link>
      </PageHeader>
      {isHydrated ? <Kept /> : null}
    </>
  );
}
