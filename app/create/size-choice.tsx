"use client";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { useTranslations } from "next-intl";
import type { OfferedWorkflow } from "../client/queries.ts";
import { NumberInput } from "../ui/fields.tsx";
import { type Aspect, aspects, createForm, useForm } from "./form.ts";
import { ratioOf, chosenSize } from "./requests.ts";

const maxEdgePx = 18;

/** Icon: a small frame with the aspect's proportions. */
function AspectIcon({ aspect }: { readonly aspect: Aspect }) {
  const ratio = ratioOf(aspect);
  const width = ratio >= 1 ? maxEdgePx : maxEdgePx * ratio;
  return (
    <span aria-hidden className="flex size-5 items-center justify-center">
      <span
        className="rounded-[2px] border-[1.5px] border-current"
        style={{ width, height: ratio >= 1 ? maxEdgePx / ratio : maxEdgePx }}
      />
    </span>
  );
}

interface LengthFieldProps {
  readonly label: string;
  /** Text after the field: `px`, or the sign between width and height. */
  readonly suffix: string;
  readonly value: number;
  readonly onChange: (px: number) => void;
}

function LengthField({ label, suffix, value, onChange }: LengthFieldProps) {
  return (
    <>
      <NumberInput
        label={label}
        value={value}
        onChange={(px) => onChange(Math.round(px))}
        className="h-9! min-w-0 text-xs!"
      />
      <span aria-hidden className="text-xs text-quiet">
        {suffix}
      </span>
    </>
  );
}

/** The aspect by a click, or width and height as numbers; empty when the workflow takes no size. */
export function SizeChoice({ workflow }: { readonly workflow: OfferedWorkflow }) {
  const t = useTranslations("create");
  const form = useForm();
  const size = chosenSize(form, workflow);
  if (size === null) return null;
  const setLength = (changes: { readonly widthPx?: number; readonly heightPx?: number }) => {
    const typed = { aspect: null, widthPx: size.width, heightPx: size.height, ...changes };
    const allowed = chosenSize(typed, workflow) ?? size;
    createForm.set({ aspect: null, widthPx: allowed.width, heightPx: allowed.height });
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
            <AspectIcon aspect={aspect} />
            {aspect}
          </Radio.Root>
        ))}
      </RadioGroup>
      <div className="flex items-center gap-2">
        <LengthField
          label={t("width")}
          suffix="×"
          value={size.width}
          onChange={(widthPx) => setLength({ widthPx })}
        />
        <LengthField
          label={t("height")}
          suffix="px"
          value={size.height}
          onChange={(heightPx) => setLength({ heightPx })}
        />
      </div>
    </div>
  );
}
