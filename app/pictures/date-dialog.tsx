"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { Button } from "../ui/button.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { Field, Segmented } from "../ui/fields.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { toastWithUndo } from "../ui/toasts.tsx";

type Dated = Pick<ImageView, "addedAt" | "createdAt" | "id">;
type Change = { readonly createdAt: string | null } | { readonly shiftS: number };
type Given = Awaited<ReturnType<typeof api.images.date.mutate>>["before"];

const idsPerCall = 500;

/** Calls for parts of many, one after the other. */
async function inParts<Item>(
  items: readonly Item[],
  call: (part: Item[]) => Promise<unknown>,
): Promise<void> {
  for (let from = 0; from < items.length; from += idsPerCall)
    await call(items.slice(from, from + idsPerCall));
}

/** Gives pictures another day, with undo. */
function useDate(onDone: () => void) {
  const t = useTranslations("pictures.date");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const refresh = (ids: readonly string[]) => {
    for (const id of ids) void queries.invalidateQueries({ queryKey: keys.image(id) });
    return queries.invalidateQueries({ queryKey: keys.imageLists });
  };
  const undo = (before: Given) =>
    inParts(before, (dates) => api.images.date.mutate({ dates }))
      .catch(onError)
      .finally(() => void refresh(before.map(({ id }) => id)));
  return useMutation({
    mutationFn: async ({ ids, change }: { readonly ids: readonly string[]; readonly change: Change }) => {
      const before: Given = [];
      const changing = inParts(ids, async (part) => {
        before.push(...(await api.images.date.mutate({ ids: part, ...change })).before);
      });
      // What was changed until then has its undo; again, a shift would move it twice.
      const failure = await changing.then(
        () => null,
        (error: unknown) => ({ error }),
      );
      if (failure !== null && before.length === 0) throw failure.error;
      return { before, failure };
    },
    onSuccess: ({ before, failure }) => {
      onDone();
      if (failure !== null) onError(failure.error);
      toastWithUndo({
        title: t("changed", { count: before.length }),
        undoLabel: t("undo"),
        onUndo: () => void undo(before),
      });
    },
    onError,
    onSettled: (_before, _error, { ids }) => refresh(ids),
  });
}

/** As a field for day and time has it: by the clock of this browser. Swedish writes it so, with a space between. */
export function toFieldTime(iso: string): string {
  return new Date(iso).toLocaleString("sv").replace(" ", "T");
}

const units = { days: 86_400, hours: 3_600, minutes: 60 } as const;
type Unit = keyof typeof units;
const unitNames: readonly Unit[] = ["days", "hours", "minutes"];

function ShiftFields({ onShift }: { readonly onShift: (shiftS: number) => void }) {
  const t = useTranslations("pictures.date");
  const [sign, setSign] = useState<"earlier" | "later">("later");
  const [amounts, setAmounts] = useState<Readonly<Record<Unit, string>>>({
    days: "",
    hours: "",
    minutes: "",
  });
  const change = (next: typeof amounts, direction: typeof sign) => {
    setAmounts(next);
    setSign(direction);
    const seconds = unitNames.reduce((sum, unit) => sum + units[unit] * (Number(next[unit]) || 0), 0);
    onShift((direction === "later" ? 1 : -1) * Math.round(seconds));
  };
  return (
    <>
      <Segmented
        label={t("direction")}
        value={sign}
        options={[
          { value: "earlier", label: t("earlier") },
          { value: "later", label: t("later") },
        ]}
        onChange={(direction) => change(amounts, direction)}
      />
      <div className="grid grid-cols-3 gap-2">
        {unitNames.map((unit) => (
          <Field
            key={unit}
            name={unit}
            type="number"
            inputMode="decimal"
            min={0}
            max={99_999}
            step="any"
            label={t(unit)}
            value={amounts[unit]}
            onValueChange={(text) => change({ ...amounts, [unit]: text }, sign)}
          />
        ))}
      </div>
    </>
  );
}

interface Props {
  readonly images: readonly Dated[];
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

/** The day of a picture, or of all that are selected: another one, shifted by so much, or the one that it had. */
export function DateDialog({ images, open, onOpenChange }: Props) {
  const t = useTranslations("pictures.date");
  const [way, setWay] = useState<"set" | "shift">("set");
  const [time, setTime] = useState(() => toFieldTime(images[0]?.createdAt ?? new Date().toISOString()));
  const [shiftS, setShiftS] = useState(0);
  const { mutate, isPending } = useDate(() => onOpenChange(false));
  const give = (change: Change) => mutate({ ids: images.map(({ id }) => id), change });
  const isSet = way === "set";
  // One that stands where it was added was never given another day.
  const hasOther = images.some(({ createdAt, addedAt }) => createdAt !== addedAt);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const at = new Date(time);
    if (!isSet) give({ shiftS });
    else if (!Number.isNaN(at.getTime())) give({ createdAt: at.toISOString() });
  };
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("title")}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <p className="text-sm text-quiet">{t("text", { count: images.length })}</p>
        {images.length < 2 ? null : (
          <Segmented
            label={t("way")}
            value={way}
            options={[
              { value: "set", label: t("set") },
              { value: "shift", label: t("shift") },
            ]}
            onChange={setWay}
          />
        )}
        {isSet ? (
          <Field
            name="time"
            type="datetime-local"
            step={1}
            min="1826-01-01T00:00:00"
            required
            label={t("time")}
            value={time}
            onValueChange={setTime}
          />
        ) : (
          <ShiftFields onShift={setShiftS} />
        )}
        <div className="flex flex-wrap justify-between gap-2">
          {hasOther ? (
            <Button look="quiet" disabled={isPending} onClick={() => give({ createdAt: null })}>
              {t("back")}
            </Button>
          ) : null}
          <Button
            type="submit"
            look="primary"
            className="ms-auto"
            disabled={isPending || (isSet ? time === "" : shiftS === 0)}
          >
            {t("save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
