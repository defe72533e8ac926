import numpy
import numpy.fft
import numpy.linalg
import numpy.ma
import numpy.polynomial
import numpy.random
