"""What programs expect of Pillow and Matplotlib: pictures read, changed and written; figures in every format."""
import io
import os
import sys
import tempfile
import warnings

import each
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont, features


def picture(mode="RGB", size=(64, 48)):
    made = Image.linear_gradient("L").resize(size)
    return Image.merge("RGB", (made, made.rotate(180), made)).convert(mode)


def test_formats_of_pictures():
    for name, mode in (("PNG", "RGBA"), ("PNG", "P"), ("PNG", "I;16"), ("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("GIF", "P"), ("BMP", "RGB"),
                       ("TIFF", "RGB"), ("PPM", "RGB"), ("ICO", "RGBA"), ("TGA", "RGB"), ("PDF", "RGB")):
        out = io.BytesIO()
        (picture(mode) if mode != "I;16" else Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8))).save(out, name)
        if name == "PDF":
            assert out.getvalue().startswith(b"%PDF")
            continue
        back = Image.open(io.BytesIO(out.getvalue()))
        back.load()
        assert back.format == name, (name, mode)
    lossy = io.BytesIO()
    picture().save(lossy, "JPEG", quality=95, progressive=True, optimize=True)
    off = ImageChops.difference(Image.open(lossy).convert("RGB"), picture())
    assert max(high for _, high in off.getextrema()) < 24
    each.refused(Exception, "truncated", Image.open(io.BytesIO(lossy.getvalue()[:600])).load)
    each.refused(Exception, "cannot identify", Image.open, io.BytesIO(b"not a picture"))


def test_pictures_are_changed():
    p = picture()
    assert p.resize((10, 10), Image.Resampling.LANCZOS).size == (10, 10) and p.rotate(30, expand=True).width > 64
    assert p.crop((0, 0, 5, 5)).size == (5, 5) and p.transpose(Image.Transpose.ROTATE_90).size == (48, 64)
    assert p.filter(ImageFilter.GaussianBlur(2)).getpixel((3, 3)) != (0, 0, 0) and p.filter(ImageFilter.FIND_EDGES).mode == "RGB"
    assert p.convert("HSV").convert("RGB").size == p.size and p.quantize(8).getcolors().__len__() <= 8
    assert p.point(lambda v: 255 - v).getpixel((0, 0)) == tuple(255 - v for v in p.getpixel((0, 0)))
    a = np.asarray(p)
    assert a.shape == (48, 64, 3) and a.dtype == np.uint8 and Image.fromarray(a[:, ::-1]).getpixel((0, 0)) == p.getpixel((63, 0))
    assert Image.alpha_composite(Image.new("RGBA", (4, 4), "red"), Image.new("RGBA", (4, 4), (0, 0, 255, 128))).getpixel((1, 1)) == (127, 0, 128, 255)
    thumb = p.copy()
    thumb.thumbnail((16, 16))
    assert thumb.size == (16, 12) and p.histogram().__len__() == 768


def test_text_and_shapes():
    canvas = Image.new("L", (120, 40))
    draw = ImageDraw.Draw(canvas)
    draw.ellipse((2, 2, 20, 20), fill=128)
    draw.polygon([(30, 2), (40, 20), (25, 20)], outline=255)
    font = ImageFont.truetype(os.path.join(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), 14)
    draw.text((50, 5), "Hé", font=font, fill=255)
    assert canvas.getpixel((11, 11)) == 128 and canvas.crop((50, 5, 90, 30)).getextrema()[1] > 200 and font.getlength("Hé") > 12
    assert features.check("jpg") and features.check("zlib") and features.check("freetype2")


def test_figures_in_every_format():
    fig, axes = plt.subplots(2, 2)
    x = np.linspace(0, 6, 50)
    axes[0, 0].plot(x, np.sin(x), label=r"$\sin(x)^2$")
    axes[0, 0].legend()
    axes[0, 1].imshow(np.outer(x, x))
    axes[1, 0].contourf(np.outer(x, np.sin(x)))
    axes[1, 1].tripcolor(np.cos(x) * x, np.sin(x) * x, x)
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "ps": b"%!PS", "jpg": b"\xff\xd8", "rgba": b"\xff\xff\xff\xff"}
    for form, start in begins.items():
        out = io.BytesIO()
        fig.savefig(out, format=form)
        assert out.getvalue().startswith(start) and len(out.getvalue()) > 5000, form
    plt.close(fig)


def test_a_line_is_where_it_should_be():
    fig = plt.figure(figsize=(2, 1), dpi=100)
    axes = fig.add_axes([0, 0, 1, 1])
    axes.axis("off")
    axes.plot([0, 1], [0.5, 0.5], color="red", linewidth=6)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    out = io.BytesIO()
    fig.savefig(out, format="png")
    shown = np.asarray(Image.open(out).convert("RGB"))
    assert shown.shape == (100, 200, 3) and shown[50, 100].tolist() == [255, 0, 0] and shown[10, 100].tolist() == [255, 255, 255]
    plt.close(fig)


def test_kinds_of_charts():
    fig, axes = plt.subplots(3, 4, figsize=(12, 9))
    data = np.random.default_rng(0).random((20, 3))
    axes = iter(axes.ravel())
    next(axes).bar(["a", "b"], [1, 2])
    next(axes).barh(["a", "b"], [1, 2])
    next(axes).hist(data)
    next(axes).boxplot(data)
    next(axes).violinplot(data)
    next(axes).pie([1, 2], labels=["x", "y"])
    next(axes).scatter(data[:, 0], data[:, 1], c=data[:, 2])
    next(axes).errorbar([1, 2], [3, 4], yerr=0.1)
    next(axes).fill_between([0, 1], [1, 2])
    next(axes).quiver(data[:, 0], data[:, 1], data[:, 1], data[:, 2])
    next(axes).stackplot([1, 2, 3], [1, 2, 3], [2, 1, 1])
    next(axes).plot(np.arange("2024-01-01", "2024-01-04", dtype="datetime64[D]"), [1, 2, 3])
    fig.tight_layout()
    fig.savefig(io.BytesIO())
    plt.close(fig)
    solid = plt.figure().add_subplot(projection="3d")
    solid.plot_surface(*np.meshgrid(range(5), range(5)), np.ones((5, 5)))
    plt.savefig(io.BytesIO())
    plt.close("all")


def test_figures_go_to_files():
    with tempfile.TemporaryDirectory() as folder:
        plt.plot([1, 2])
        plt.title("Überschrift")
        for name in ("a.png", "a.svg", "a.pdf"):
            plt.savefig(os.path.join(folder, name), dpi=50)
            assert os.path.getsize(os.path.join(folder, name)) > 1000
        plt.close("all")


def test_show_where_nothing_is_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plt.plot([1, 2])
        plt.show()
        plt.close("all")
        matplotlib.use("Agg")
        plt.plot([1, 2])
        plt.show()
        plt.close("all")


def test_metadata_names_the_packages():
    import importlib.metadata
    assert importlib.metadata.version("matplotlib") == matplotlib.__version__ and importlib.metadata.version("pillow") == Image.__version__
    assert "/usr/lib/python3/dist-packages" in sys.path


each.run(globals())
