"""The picture of the README: `make demo`, then `python docs/images/demo.py`.

It puts figures of the demo's report beside one another.
"""

from pathlib import Path

from PIL import Image

FIGURES = Path("runs/xor-seed0/report/figures")
WIDTH, GAP = 1400, 30


def scaled(name: str, width: int) -> Image.Image:
    image = Image.open(FIGURES / f"{name}.png").convert("RGB")
    return image.resize((width, round(image.height * width / image.width)))


def main() -> None:
    fields = scaled("fields", WIDTH)
    half = (WIDTH - GAP) // 2
    left = [scaled("genome", half), scaled("fitness", half)]
    right = scaled("substrate", half)
    height = max(sum(image.height for image in left) + GAP, right.height)
    page = Image.new("RGB", (WIDTH, fields.height + GAP + height), "white")
    page.paste(fields, (0, 0))
    top = fields.height + GAP
    page.paste(left[0], (0, top))
    page.paste(left[1], (0, top + left[0].height + GAP))
    page.paste(right, (half + GAP, top + (height - right.height) // 2))
    page.save(Path(__file__).with_name("demo.png"), optimize=True)


if __name__ == "__main__":
    main()
