import gc
import io

import numpy
import numpy.fft
import numpy.linalg
import numpy.ma
import numpy.polynomial
import numpy.random
import pandas
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont
import PIL.PngImagePlugin
import cay
import matplotlib.pyplot
import matplotlib.dates
import matplotlib.backends.backend_pdf
import matplotlib.backends.backend_svg

# A figure and a table, so that what they load and remember is there.
PIL.Image.preinit()
cay._part("figures").install()
matplotlib.pyplot.plot([1, 2], label="$x$")
matplotlib.pyplot.legend()
matplotlib.pyplot.savefig(io.BytesIO(), format="png", bbox_inches="tight")
matplotlib.pyplot.close("all")
pandas.DataFrame({"x": [1, 2], "y": ["a", "b"]}).groupby("y").sum().to_html()
pandas.read_csv(io.StringIO("a,b\n1,2\n"))

# Fonts that are loaded hold their files open, which an image may not.
matplotlib.font_manager._get_font.cache_clear()
matplotlib.mathtext.MathTextParser._parse_cached.cache_clear()
gc.collect()
del gc, io, cay, numpy, pandas, PIL, matplotlib
