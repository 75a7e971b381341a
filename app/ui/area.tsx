import { type ComponentProps, useId } from "react";
import { cx, inputStyle } from "./button.tsx";

interface AreaProps extends Omit<ComponentProps<"textarea">, "onChange" | "style"> {
  readonly label: string;
  readonly hint?: string;
  readonly onChange: (text: string) => void;
}

/** A labelled text of several lines with its hint. */
export function Area({ label, hint, onChange, className, ...area }: AreaProps) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={id} className="text-xs font-medium">
        {label}
      </label>
      <textarea
        {...area}
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
        className={cx(inputStyle, "h-auto! resize-y py-2", className)}
      />
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="text-xs text-quiet">
          {hint}
        </p>
      )}
    </div>
  );
}
