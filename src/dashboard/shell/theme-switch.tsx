import { chooseTheme, type Theme, themes, useTheme } from "../theme.ts";
import { Icon, type IconName } from "../ui/icon.tsx";

const looks: Record<Theme, { name: string; icon: IconName }> = {
  system: { name: "As the system", icon: "screen" },
  light: { name: "Light", icon: "sun" },
  dark: { name: "Dark", icon: "moon" },
};

export function ThemeSwitch() {
  const theme = useTheme();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a legend in its border, which is not wanted here
    <div className="seg theme-switch" role="group" aria-label="Colours">
      {themes.map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === theme}
          aria-label={looks[name].name}
          title={looks[name].name}
          onClick={() => chooseTheme(name)}
        >
          <Icon name={looks[name].icon} size={16} />
        </button>
      ))}
    </div>
  );
}
