import type { ComponentProps } from "react";
import { buttonStyle, type ButtonLook, type ButtonSize } from "./button-style.ts";
import { cx } from "./cx.ts";

interface Props extends ComponentProps<"button"> {
  readonly look?: ButtonLook;
  readonly size?: ButtonSize;
}

export function Button({ look, size, className, type = "button", ...rest }: Props) {
  return <button {...rest} type={type} className={cx(buttonStyle(look, size), className)} />;
}
