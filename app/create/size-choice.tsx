"use client";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { useTranslations } from "next-intl";
import type { OfferedWorkflow } from "../client/queries.ts";
import { NumberInput } from "../ui/fields.tsx";
import { type Aspect, aspects, createForm, useForm } from "./form.ts";
import { ratioOf, sizeOf } from "./requests.ts";

const longestEdgePx = 18;

/** The proportions as a small frame. */
function Shape({ aspect }: { readonly aspect: Aspect }) {
  const ratio = ratioOf(aspect);
  const width = ratio >= 1 ? longestEdgePx : longestEdgePx * ratio;
  return (
    <span aria-hidden className="flex size-5 items-center justify-center">
      <span
        className="rounded-[2px] border-[1.5px] border-current"
        style={{ width, height: ratio >= 1 ? longestEdgePx / ratio : longestEdgePx }}
      />
    </span>
  );
}

interface SideProps {
  readonly label: string;
  readonly unit: string;
  readonly value: number;
  readonly onChange: (px: number) => void;
}

function Side({ label, unit, value, onChange }: SideProps) {
  return (
    <>
      <NumberInput
        label={label}
        value={value}
        onChange={(px) => onChange(Math.round(px))}
        className="h-9! min-w-0 text-xs!"
      />
      <span aria-hidden className="text-xs text-quiet">
        {unit}
      </span>
    </>
  );
}

/** Proportions by a click, or width and height by hand; nothing where the workflow takes no size. */
export function SizeChoice({ workflow }: { readonly workflow: OfferedWorkflow }) {
  const t = useTranslations("create");
  const form = useForm();
  const size = sizeOf(form, workflow);
  if (size === null) return null;
  const setOwn = (changes: { readonly widthPx?: number; readonly heightPx?: number }) => {
    const asked = { aspect: null, widthPx: size.width, heightPx: size.height, ...changes };
    const taken = sizeOf(asked, workflow) ?? size;
    createForm.set({ aspect: null, widthPx: taken.width, heightPx: taken.height });
  };
  return (
    <div className="flex flex-col gap-2">
      <span id="create-size" className="text-xs font-medium">
        {t("size")}
      </span>
      <RadioGroup
        aria-labelledby="create-size"
        value={form.aspect ?? ""}
        onValueChange={(next) => createForm.set({ aspect: next as Aspect })}
        className="grid grid-cols-7 gap-1"
      >
        {aspects.map((aspect) => (
          <Radio.Root
            key={aspect}
            value={aspect}
            className="flex h-14 cursor-pointer flex-col items-center justify-center gap-1 rounded-control border border-line tabular text-[11px] font-medium text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink data-checked:border-ink data-checked:text-ink"
          >
            <Shape aspect={aspect} />
            {aspect}
          </Radio.Root>
        ))}
      </RadioGroup>
      <div className="flex items-center gap-2">
        <Side label={t("width")} unit="×" value={size.width} onChange={(widthPx) => setOwn({ widthPx })} />
        <Side
          label={t("height")}
          unit="px"
          value={size.height}
          onChange={(heightPx) => setOwn({ heightPx })}
        />
      </div>
    </div>
  );
}
